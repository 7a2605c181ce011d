import type { RemoteService } from "./api-services.ts"
import type { UserInfo } from "../call/request.ts"

/**
 * An extension API server as a function, which takes the place of the server behind an APIService's Service. The
 * request has the path that the client sent, such as `/apis/<group>/<version>/namespaces/…`, and was authenticated and
 * authorized. If the body of the response is a stream, each chunk is passed on as it comes, so that a watch can be
 * served; `request.signal` aborts when the client disconnects.
 */
export type ExtensionServer = (request: Request, user: UserInfo) => Response | Promise<Response>

/** Returns the function for a Service (`namespace/name`); undefined when there is none. */
export type FindExtensionServer = (service: string) => ExtensionServer | undefined

/** Returns the function that takes the place of an APIService's server, if there is one. */
export const functionBehind = (
  { spec: { service } }: RemoteService,
  functions: FindExtensionServer,
): ExtensionServer | undefined => functions(`${service.namespace ?? ""}/${service.name ?? ""}`)

/**
 * An API that another component of this process serves, while no APIService with this name is stored. Its own is not
 * stored: what is stored belongs to whoever has installed another server.
 */
export interface OwnExtension {
  readonly apiService: {
    readonly metadata: { readonly name: string }
    readonly spec: { readonly service: { readonly namespace: string; readonly name: string } }
  }
  readonly answer: ExtensionServer
}

/** Searches the functions of this process first, and then `others`. */
export function withOwnExtensions(own: readonly OwnExtension[], others: FindExtensionServer): FindExtensionServer {
  const byService = new Map(
    own.map(({ apiService: { spec }, answer }) => [`${spec.service.namespace}/${spec.service.name}`, answer]),
  )
  return (service) => byService.get(service) ?? others(service)
}
