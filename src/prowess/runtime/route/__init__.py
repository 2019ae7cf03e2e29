"""From a message to the skills it needs, as a service: answers, reasons and examples."""
