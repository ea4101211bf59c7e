/** Started with `--import`: puts the names of FAR_HOSTS far away for a program. */
import { placeFar } from './dist/far-network.js'

placeFar(JSON.parse(process.env.FAR_HOSTS))
