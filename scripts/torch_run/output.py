# SPDX-License-Identifier: Apache-2.0
"""The file of runs."""
import fcntl
import json
import os
import shutil
import subprocess
import sys

import torch

from torch_run import Failure


def find_dltime(given):
    if given:
        return given
    here = os.path.dirname(os.path.dirname(os.path.realpath(sys.argv[0])))
    for folder in (os.environ.get("BUILD"), os.path.join(here, "build"), os.path.join(here, "bin")):
        path = os.path.join(folder or "", "dltime")
        if folder and os.access(path, os.X_OK):
            return path
    found = shutil.which("dltime")
    if not found:
        raise Failure("the dltime command is not there; give --dltime PATH")
    return found


def ask(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure((done.stderr.strip() or f"{command[0]} failed").splitlines()[0])
    return json.loads(done.stdout)


def this_cpu(settings):
    """As dlbench describes it, so that its measurements and these runs are of one device."""
    beside = os.path.join(os.path.dirname(settings["dltime"]), "dlbench")
    info = ask([beside, "info", "--json"])
    about = {key: info["cpu"][key] for key in ("name", "isa", "sockets", "cores", "clock_mhz",
                                               "l2_mib", "memory_gib")}
    for device in info["devices"]:
        if device.get("name") == about["name"] and device.get("memory_bandwidth_gbs"):
            about["memory_bandwidth_gbs"] = device["memory_bandwidth_gbs"]
    return {key: value for key, value in about.items() if value is not None}


def software_of(device):
    software = {"framework": f"pytorch {torch.__version__}", "timing": "host_synchronous"}
    if device.type == "cuda":
        software["backend"] = f"cudnn {torch.backends.cudnn.version()}"
        software["cuda"] = str(torch.version.cuda)
    else:
        software["backend"] = "onednn" if torch.backends.mkldnn.is_available() else "aten"
    return software


def header(settings):
    device = settings["device"]
    if device.type == "cuda":
        p = torch.cuda.get_device_properties(device)
        about = {"name": p.name, "vendor": "nvidia", "sms": p.multi_processor_count,
                 "compute_capability": f"{p.major}.{p.minor}",
                 "memory_gib": round(p.total_memory / 2**30, 3)}
    else:
        about = this_cpu(settings)
    about = {"format": "dltime-runs", "version": 1, "device": about,
             "software": software_of(device), "source": "torch-run"}
    if settings["convolutions"]:
        about.update({"format": "dltime-measurements", "table": True})
    return about


def check_header(path, line, about):
    """Runs of a file are of its header's device and framework."""
    try:
        there = json.loads(line)
        same = (there["device"]["name"], there["software"]["framework"]) == (
            about["device"]["name"], about["software"]["framework"])
        kind = (there["format"], there.get("table")) == (about["format"], about.get("table"))
    except (ValueError, KeyError, TypeError):
        raise Failure(f"{path}: holds no runs of one device; name another file") from None
    if not same:
        raise Failure(f"{path}: is of {there['device']['name']}, {there['software']['framework']};"
                      " name another file")
    if not kind:
        raise Failure(f"{path}: runs and convolutions go to files of their own; name another file")


def last_line(file):
    """What stands behind the last end of a line."""
    at, tail = file.seek(0, os.SEEK_END), b""
    while at > 0 and b"\n" not in tail:
        step = min(at, 4096)
        at = file.seek(at - step)
        tail = file.read(step) + tail
    return tail.rpartition(b"\n")[2]


def end_last_line(path, file):
    """A run that was killed may have written its last line by half, or without its end."""
    tail = last_line(file)
    if not tail:
        return
    try:
        json.loads(tail)
        file.write(b"\n")
    except ValueError:
        file.truncate(file.seek(0, os.SEEK_END) - len(tail))
        print(f"torch-run: {path}: its last line was written by half and is cut off",
              file=sys.stderr)


class Runs:
    """A file that runs are added to, each on the disk before the next is measured."""

    def __init__(self, path, about):
        """Takes a file that is there only if its runs are of the same device and framework."""
        self.path = path
        if os.path.exists(path) and not os.path.isfile(path):
            raise Failure(f"{path}: is no file that runs can be added to")
        self.file = open(path, "a+b", buffering=0)
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.close()
            raise Failure(f"{path}: is being written by another program") from None
        except OSError:
            pass  # a file system without locks
        try:
            self.begin(path, about)
        except Failure:
            self.file.close()
            raise

    def begin(self, path, about):
        self.file.seek(0)
        first = self.file.readline()
        if json.dumps(about).encode().startswith(first):
            self.file.truncate(0)  # empty, or killed while it wrote the header
            self.write(about)
            return
        check_header(path, first, about)
        end_last_line(path, self.file)

    def write(self, row):
        """Whole or not at all: of a row that does not fit on the disk nothing stays."""
        line, before = json.dumps(row).encode() + b"\n", os.fstat(self.file.fileno()).st_size
        try:
            while line:
                line = line[self.file.write(line):]
            os.fsync(self.file.fileno())
        except OSError as failure:
            self.file.truncate(before)
            raise Failure(f"{self.path}: cannot be written: {failure.strerror}") from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
