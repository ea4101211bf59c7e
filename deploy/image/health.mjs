// Whether the app on this ops port lives: the image has no curl. health.mjs 9465 /ready: whether it contributes.
const [, , port, path = '/live'] = process.argv
const { ok } = await fetch(`http://127.0.0.1:${port}${path}`)
process.exit(ok ? 0 : 1)
