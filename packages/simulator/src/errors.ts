/** What the simulator refuses: a stable `code` and a message that names the field and its value. */
export class SimulatorError extends Error {
  readonly code: 'SIM_ERR_FAULT' | 'SIM_ERR_CONFIG'

  constructor(code: SimulatorError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SimulatorError'
    this.code = code
  }
}
