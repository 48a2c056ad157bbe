# Serves what lies beside it.  The first process of a container is deaf to a signal that it does not trap.
trap 'exit 0' TERM
httpd -f -vv -p 8080 -h /service &
wait
