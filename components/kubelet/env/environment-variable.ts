/** An environment variable of a container, for the runtime. */
export interface EnvironmentVariable {
  readonly key: string
  readonly value: string
}
