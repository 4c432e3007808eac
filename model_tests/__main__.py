"""`python -m model_tests`, and the file that `spark-submit` is given: the `eos` command."""

from model_tests.cli import app

if __name__ == "__main__":
    app()
