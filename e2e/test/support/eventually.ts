export { eventually, getJson } from '../../src/eventually.ts'
