#!/bin/sh
# Starts Redis with a file of users: start.sh /etc/valkey/users.acl OPTION…
# Redis loads its append-only file as the user `default`. One that may not do everything would let it start healthy,
# without what was written since the last rewrite, and the next rewrite would make that final.
set -eu
users=$1
shift
default=$(sed -n '/^user default /{s/allcommands/+@all/g;s/nocommands/-@all/g;s/allkeys/~*/g;p;}' "$users")
refuse() {
  echo "$users: the user default $1, so Redis would forget what its append-only file holds. Give it this line:" >&2
  echo 'user default off resetpass ~* &* +@all' >&2
  exit 1
}
# Without a line it may do everything. What stands later on a line counts.
if [ -n "$default" ]; then
  case " ${default##*+@all} " in *' -'* | *' reset '*) refuse 'may not run every command' ;; esac
  case " $default " in *' +@all '*) ;; *) refuse 'may not run every command' ;; esac
  case " ${default##* ~\*} " in *' resetkeys '* | *' reset '*) refuse 'may not touch every key' ;; esac
  case " $default " in *' ~* '*) ;; *) refuse 'may not touch every key' ;; esac
fi
exec valkey-server --aclfile "$users" "$@"
