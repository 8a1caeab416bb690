from .errors import (
    BorderWarning as BorderWarning,
)
from .errors import (
    CoordinateError as CoordinateError,
)
from .errors import (
    CrsError as CrsError,
)
from .errors import (
    DataError as DataError,
)
from .errors import (
    FileAccessError as FileAccessError,
)
from .errors import (
    FormatError as FormatError,
)
from .errors import (
    GtfsError as GtfsError,
)
from .errors import (
    InputError as InputError,
)
from .errors import (
    InterruptedSearchError as InterruptedSearchError,
)
from .errors import (
    KeywordError as KeywordError,
)
from .errors import (
    LimitError as LimitError,
)
from .errors import (
    MissingDependencyError as MissingDependencyError,
)
from .errors import (
    MissingFileError as MissingFileError,
)
from .errors import (
    ModeError as ModeError,
)
from .errors import (
    MomentError as MomentError,
)
from .errors import (
    NoServiceError as NoServiceError,
)
from .errors import (
    ServiceError as ServiceError,
)
from .errors import (
    TravelTimeError as TravelTimeError,
)
from .errors import (
    UnfinishedJobError as UnfinishedJobError,
)
from .errors import (
    UnsupportedError as UnsupportedError,
)
from .fares import (
    Fares as Fares,
)
from .fares import (
    Ticket as Ticket,
)
from .itinerary import (
    Alert as Alert,
)
from .itinerary import (
    Leg as Leg,
)
from .itinerary import (
    Ride as Ride,
)
from .itinerary import (
    Route as Route,
)
from .itinerary import (
    Step as Step,
)
from .itinerary import (
    StopCall as StopCall,
)
from .jobs.areas import (
    write_areas as write_areas,
)
from .jobs.matrix import (
    matrix_frame as matrix_frame,
)
from .jobs.matrix import (
    write_matrix as write_matrix,
)
from .jobs.networks import (
    write_networks as write_networks,
)
from .maps.plot import (
    plot as plot,
)
from .maps.side_by_side import (
    side_by_side as side_by_side,
)
from .maps.widget.side_by_side import (
    SideBySideMap as SideBySideMap,
)
from .maps.widget.view import (
    TravelTimeMap as TravelTimeMap,
)
from .modes.costs import (
    Costs as Costs,
)
from .modes.snapping import (
    Snapping as Snapping,
)
from .modes.transportation import (
    Transportation as Transportation,
)
from .network.build import (
    build_network as build_network,
)
from .network.build import (
    load_network as load_network,
)
from .network.elevation import (
    add_elevation as add_elevation,
)
from .network.network import (
    Network as Network,
)
from .network.observed_days import (
    ObservedDays as ObservedDays,
)
from .network.observed_days import (
    observed_days as observed_days,
)
from .network.sample import (
    sample_files as sample_files,
)
from .network.sample import (
    sample_network as sample_network,
)
from .network.sample import (
    sample_points as sample_points,
)
from .network.speeds import (
    add_speeds as add_speeds,
)
from .scenarios.file import (
    load_changes as load_changes,
)
from .scenarios.file import (
    save_changes as save_changes,
)
from .scenarios.street_changes import (
    AddCycleTrack as AddCycleTrack,
)
from .scenarios.street_changes import (
    AddStreet as AddStreet,
)
from .scenarios.street_changes import (
    CloseStreets as CloseStreets,
)
from .scenarios.street_changes import (
    MakeStepFree as MakeStepFree,
)
from .scenarios.street_changes import (
    ReopenStreets as ReopenStreets,
)
from .scenarios.street_changes import (
    SetSpeed as SetSpeed,
)
from .scenarios.transit_changes import (
    AddLine as AddLine,
)
from .scenarios.transit_changes import (
    AddStop as AddStop,
)
from .scenarios.transit_changes import (
    CloseElevator as CloseElevator,
)
from .scenarios.transit_changes import (
    ClosePathway as ClosePathway,
)
from .scenarios.transit_changes import (
    RemoveRoutes as RemoveRoutes,
)
from .scenarios.transit_changes import (
    RemoveStops as RemoveStops,
)
from .scenarios.transit_changes import (
    ScaleHeadway as ScaleHeadway,
)
from .scenarios.transit_changes import (
    SetHeadway as SetHeadway,
)
from .scenarios.transit_changes import (
    ShiftTrips as ShiftTrips,
)
from .search.accessibility.accessibility import (
    accessibility as accessibility,
)
from .search.accessibility.decay import (
    Decay as Decay,
)
from .search.accessibility.inequality import (
    inequality as inequality,
)
from .search.accessibility.poverty import (
    alkire_foster as alkire_foster,
)
from .search.calibration.calibrate import (
    Calibration as Calibration,
)
from .search.calibration.calibrate import (
    calibrate_speeds as calibrate_speeds,
)
from .search.cells import (
    geohash_cells as geohash_cells,
)
from .search.cells import (
    geohash_centroids as geohash_centroids,
)
from .search.cells import (
    h3_cells as h3_cells,
)
from .search.cells import (
    h3_centroids as h3_centroids,
)
from .search.compare import (
    compare as compare,
)
from .search.counts import (
    counts_to_h3 as counts_to_h3,
)
from .search.counts import (
    counts_to_points as counts_to_points,
)
from .search.explain.explain import (
    explain as explain,
)
from .search.explain.reasons import (
    Explanation as Explanation,
)
from .search.explain.reasons import (
    Reason as Reason,
)
from .search.geocoding.geocode import (
    geocode as geocode,
)
from .search.geocoding.geocode import (
    reverse_geocode as reverse_geocode,
)
from .search.geocoding.nominatim import (
    Nominatim as Nominatim,
)
from .search.nearest import (
    nearest as nearest,
)
from .search.pareto import (
    pareto_routes as pareto_routes,
)
from .search.places import (
    places as places,
)
from .search.prepared_points import (
    PreparedPoints as PreparedPoints,
)
from .search.reliability.areas import (
    reliability_cells as reliability_cells,
)
from .search.reliability.areas import (
    reliability_map as reliability_map,
)
from .search.reliability.reliability import (
    reliability as reliability,
)
from .search.replay.receipt import (
    receipt as receipt,
)
from .search.replay.replay import (
    Replay as Replay,
)
from .search.replay.replay import (
    replay as replay,
)
from .search.routes import (
    routes as routes,
)
from .search.set_operations import (
    difference as difference,
)
from .search.set_operations import (
    intersection as intersection,
)
from .search.set_operations import (
    intersection_cells as intersection_cells,
)
from .search.set_operations import (
    union as union,
)
from .search.set_operations import (
    union_cells as union_cells,
)
from .search.shape_accuracy import (
    shape_accuracy as shape_accuracy,
)
from .search.snap import (
    prepare_points as prepare_points,
)
from .search.snap import (
    snap as snap,
)
from .search.time_filter import (
    time_filter as time_filter,
)
from .search.time_map import (
    distance_map as distance_map,
)
from .search.time_map import (
    time_map as time_map,
)
from .server.serve import (
    serve as serve,
)

__version__: str
