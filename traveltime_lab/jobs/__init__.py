"""
Large jobs: matrices, isochrones and networks, written part by part, resumed where they stopped, on many processes.

`matrix`, `areas` and `networks` have the public functions. A `job.Job`, or the job of networks, says what a part is and
makes it, `folder.Folder` keeps the parts on disk, and `run.run` brings the two together;
`traveltime_lab.runtime.executors` hands a job to other processes.
"""
