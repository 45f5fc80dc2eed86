"""The front door. Importing it ensures that Coterie's packages are its own."""

from coterie.own_packages import install

install()
