"""What is known about language: corrections, closings and opposites."""
