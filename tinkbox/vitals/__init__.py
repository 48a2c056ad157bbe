"""What the appliance measures of itself.  It decides nothing: the doctor's rules do (`engine.doctor.rules.appliance`)."""
