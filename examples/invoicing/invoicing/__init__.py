"""Line totals, quantity discounts and tax, to the cent."""
