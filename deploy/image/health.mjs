// Whether the app on this ops port lives: the image has no curl.
const { ok } = await fetch(`http://127.0.0.1:${process.argv[2]}/live`)
process.exit(ok ? 0 : 1)
