"""`vllm serve MODEL --options`, as the real command line behaves."""

from __future__ import annotations

import os
import signal
import sys
import threading

from simulated_engine import arguments, checkpoint, known_environment, launch, log, startup
from simulated_engine.engine import Engine
from simulated_engine.failure import LaunchError
from simulated_engine.server import Server
from simulated_engine.settings import SettingError, Settings


def main(argv=None) -> int:
    try:
        settings = Settings.from_environment(os.environ)
    except SettingError as error:
        print(f"simulated engine: {error}", file=sys.stderr)
        return 2
    parser = arguments.build_parser(settings.version)
    args = parser.parse_args(sys.argv[1:] if argv is None else argv)
    if args.subparser is None:
        parser.print_help()
        return 0
    # A process with id 1 ignores SIGTERM unless it handles it.
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    try:
        serve(args, settings)
    except LaunchError as error:
        log.failure(error)
        return 1
    except OSError as error:
        log.failure(LaunchError("OSError", str(error)))
        return 1
    return 0


def serve(args, settings) -> None:
    launch.check_server_options(args)
    startup.announce(args, arguments.non_default(args), settings.version)
    server = Server(args, os.environ)
    startup.warn_environment(known_environment.unknown_variables(os.environ), args.fail_on_environ_validation)
    planned = launch.plan(args, checkpoint.read_checkpoint(args.model_tag or ""), settings.platform)
    startup.start_engine(planned, settings)
    engine = Engine(planned, settings)
    if not args.disable_log_stats:
        interval = float(os.environ.get("VLLM_LOG_STATS_INTERVAL") or 10.0)
        threading.Thread(target=engine.log_periodically, args=(interval,), daemon=True).start()
    server.serve(engine)


def _stop(signum, _frame):
    raise SystemExit(0)
