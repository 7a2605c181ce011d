import { Buffer, isUtf8 } from "node:buffer"

/** The value of a variable: its text, or its bytes where they are not UTF-8, as in a Secret with a binary password. */
export type EnvironmentValue = string | Uint8Array

/** An environment variable of a container, for the runtime. */
export interface EnvironmentVariable {
  readonly key: string
  readonly value: EnvironmentValue
}

/** Returns bytes as a value: the runtime gets exactly these bytes. */
export const valueOfBytes = (bytes: Uint8Array): EnvironmentValue =>
  isUtf8(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8") : bytes

export const bytesIn = (value: EnvironmentValue): number =>
  typeof value === "string" ? Buffer.byteLength(value) : value.length

/**
 * Returns the values of variables by their names. Of several variables with one name the last counts, as for the
 * programs that see them.
 */
export const valuesByName = (environment: readonly EnvironmentVariable[]): ReadonlyMap<string, EnvironmentValue> =>
  new Map(environment.map(({ key, value }) => [key, value]))
