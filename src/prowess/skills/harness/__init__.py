"""What each harness reads of a skill: rules, listings and portable builds."""
