# SPDX-License-Identifier: Apache-2.0
"""What torch-run is made of."""


class Failure(Exception):
    """One sentence for the user."""
