"""The front door. Importing it makes sure that Coterie's packages are its own."""

from coterie.own_packages import install

install()
