"""How the bundled encoder is made. Needs a GPU to be quick and nothing of the package to run."""
