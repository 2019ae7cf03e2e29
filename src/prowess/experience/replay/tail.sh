
CURRENT=''
if [[ $EXECUTE == no ]]; then
  say 'This was a dry run: nothing was done. Run it with --execute.'
else
  say 'All steps are done.'
fi
