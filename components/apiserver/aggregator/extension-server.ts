import type { RemoteService } from "./api-services.ts"
import type { UserInfo } from "../request.ts"

/**
 * An API server as a function: it stands where the Service of an APIService would lead to another process. The request
 * has the path that clients ask for, such as `/apis/<group>/<version>/namespaces/…`; it has been authenticated and
 * authorized. A stream as the body of the answer is passed on as it comes, so that a watch can be answered, and
 * `request.signal` aborts when the client has gone.
 */
export type ExtensionServer = (request: Request, user: UserInfo) => Response | Promise<Response>

/** Gives the function behind a Service (`namespace/name`); undefined where there is none. */
export type FindExtensionServer = (service: string) => ExtensionServer | undefined

/** The function that stands for the server behind an APIService, if one does. */
export const functionBehind = (
  { spec: { service } }: RemoteService,
  functions: FindExtensionServer,
): ExtensionServer | undefined => functions(`${service.namespace ?? ""}/${service.name ?? ""}`)

/** An API that another component of this process serves, and how it is registered unless somebody has changed that. */
export interface OwnExtension {
  readonly apiService: {
    readonly metadata: { readonly name: string }
    readonly spec: { readonly service: { readonly namespace: string; readonly name: string } }
  }
  readonly answer: ExtensionServer
}

/** Gives the functions of this process and then others. */
export function withOwnExtensions(own: readonly OwnExtension[], others: FindExtensionServer): FindExtensionServer {
  const byService = new Map(
    own.map(({ apiService: { spec }, answer }) => [`${spec.service.namespace}/${spec.service.name}`, answer]),
  )
  return (service) => byService.get(service) ?? others(service)
}
