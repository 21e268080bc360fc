# How long an entry may take before it is ended, in seconds: at least three times what it needs on the slowest machine
# seen, beside other work. A limit is there for what hangs; it says nothing about speed.
set(test_limit 900)
set(spark_limit 2400)
set(long_limit 3600)
if(THALWEG_SANITIZE)
  set(test_limit 2400)
endif()
