/** A variable of a container, as the runtime sets it. */
export interface EnvironmentVariable {
  readonly key: string
  readonly value: string
}
