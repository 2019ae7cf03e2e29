"""What is kept between processes: sessions, proposals, usage, vectors, traces."""
