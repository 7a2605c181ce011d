import { joinHostPort } from "../../../pkg/apimachinery/addresses/cidr.ts"

/** Whether a server that listens on this address listens on all addresses of the machine. */
export const isAnyAddress = (host: string): boolean => host === "0.0.0.0" || host === "::"

/**
 * The address that a server listens on, unless it listens on all: clients may know the server by this address only.
 */
export const ownAddress = (listen: { readonly host: string } | undefined): readonly string[] =>
  listen === undefined || isAnyAddress(listen.host) ? [] : [listen.host]

/** Returns the URL of a server on this machine: on loopback, unless it listens on one address only. */
export function localUrl(host: string | undefined, port: number): string {
  const address = host === undefined || isAnyAddress(host) ? "127.0.0.1" : host
  return `https://${joinHostPort(address, port)}`
}
