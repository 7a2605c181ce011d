import { Server, ServerCredentials, type ServiceDefinition, type UntypedServiceImplementation } from "@grpc/grpc-js"
import { Buffer } from "node:buffer"
import type { Fields } from "../protobuf/message.ts"
import type { Rpc } from "./rpc.ts"

/**
 * Serves procedures by gRPC on a unix socket. `answer` gets the method and the request and returns the response. When
 * it throws, the call fails; when it returns undefined, the call is never answered. Each of `streams` sends `first`,
 * and stays open.
 */
export async function serveRpcs(
  socket: string,
  rpcs: readonly Rpc<Fields, Fields>[],
  answer: (rpc: Rpc<Fields, Fields>, method: string, request: object) => object | undefined,
  streams: readonly { readonly rpc: Rpc<Fields, Fields>; readonly first: object }[] = [],
): Promise<Server> {
  const server = new Server()
  const definition: Record<string, ServiceDefinition[string]> = {}
  const handlers: UntypedServiceImplementation = {}
  for (const { rpc, first } of streams) {
    const method = methodOf(rpc)
    definition[method] = definitionOf(rpc, true)
    handlers[method] = (call: { write(value: object): void }): void => call.write(first)
  }
  for (const rpc of rpcs) {
    const method = methodOf(rpc)
    definition[method] = definitionOf(rpc, false)
    handlers[method] = (call: { request: object }, respond: (err: Error | null, value?: object) => void): void => {
      try {
        const value = answer(rpc, method, call.request)
        if (value !== undefined) respond(null, value)
      } catch (err) {
        respond(err as Error)
      }
    }
  }
  server.addService(definition, handlers)
  await listenOnSocket(server, socket)
  return server
}

const methodOf = ({ path }: Rpc<Fields, Fields>): string => path.slice(path.lastIndexOf("/") + 1)

const definitionOf = (
  { path, request, response }: Rpc<Fields, Fields>,
  responseStream: boolean,
): ServiceDefinition[string] => ({
  path,
  requestStream: false,
  responseStream,
  requestSerialize: () => Buffer.alloc(0),
  requestDeserialize: (data) => request.decode(data),
  responseSerialize: (value: object) => Buffer.from(response.encode(value as never)),
  responseDeserialize: () => undefined,
})

/** Binds a gRPC server to a unix socket, without TLS. */
export const listenOnSocket = (server: Server, socket: string): Promise<void> =>
  new Promise((resolve, reject) =>
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (err) => (err ? reject(err) : resolve())),
  )
