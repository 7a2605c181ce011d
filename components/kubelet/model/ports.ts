import type { AnyContainer } from "./containers.ts"

/**
 * Returns a port given by number, or by its name in the container. Source: pkg/probe/util.go ResolveContainerPort.
 * @throws Error
 */
export function portOf(port: number | string, container: AnyContainer): number {
  const number =
    typeof port === "number"
      ? port
      : (container.ports?.find(({ name }) => name === port)?.containerPort ?? Number(port))
  if (!Number.isInteger(number))
    throw new Error(`couldn't find port: ${JSON.stringify(port)} in container ${container.name}`)
  if (number <= 0 || number > 65_535) throw new Error(`invalid port number: ${number}`)
  return number
}
