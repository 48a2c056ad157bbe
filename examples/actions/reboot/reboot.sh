# Asks the worker to reboot the machine once this action's success has been acknowledged; see README.md.
fail() {
    echo "failed: $1: $2" >&2
    if [ -e /dev/reason ]; then printf %s "$1" >/dev/reason; fi
    if [ -e /dev/message ]; then printf %s "$2" >/dev/message; fi
    if [ -e /dev/hint ]; then printf %s "write /worker:/worker below the action's volumes in the template; then make a new workflow, for a retry keeps the old text" >/dev/hint; fi
    exit 1
}

[ -d /worker ] || fail MissingVolume "the worker's directory is not here: add the volume /worker:/worker to the action"
echo reboot >/worker/reboot || fail RebootNotAsked "cannot write /worker/reboot: is the volume mounted read-only?"
echo "the machine reboots when the worker has reported this action"
