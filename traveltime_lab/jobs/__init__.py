"""
Large jobs: matrices and isochrones that are written part by part, resume where they stopped, and run on many processes.

`matrix` and `areas` have the public functions. A `job.Job` says what a part is and makes it, `folder.Folder` keeps the
parts on disk, and `run.run` brings the two together; `traveltime_lab.runtime.executors` hands a job to other processes.
"""
