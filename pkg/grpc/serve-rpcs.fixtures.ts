import { Server, ServerCredentials, type ServiceDefinition, type UntypedServiceImplementation } from "@grpc/grpc-js"
import { Buffer } from "node:buffer"
import type { Fields } from "../protobuf/message.ts"
import type { Rpc } from "./rpc.ts"

/**
 * Serves procedures by gRPC on a unix socket. `answer` gets the method and the request; what it throws is the response,
 * and a call for which it returns undefined is never answered.
 */
export async function serveRpcs(
  socket: string,
  rpcs: readonly Rpc<Fields, Fields>[],
  answer: (rpc: Rpc<Fields, Fields>, method: string, request: object) => object | undefined,
): Promise<Server> {
  const server = new Server()
  const definition: Record<string, ServiceDefinition[string]> = {}
  const handlers: UntypedServiceImplementation = {}
  for (const rpc of rpcs) {
    const method = rpc.path.slice(rpc.path.lastIndexOf("/") + 1)
    definition[method] = {
      path: rpc.path,
      requestStream: false,
      responseStream: false,
      requestSerialize: () => Buffer.alloc(0),
      requestDeserialize: (data) => rpc.request.decode(data),
      responseSerialize: (value: object) => Buffer.from(rpc.response.encode(value as never)),
      responseDeserialize: () => undefined,
    }
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

/** Binds a gRPC server to a unix socket, without TLS. */
export const listenOnSocket = (server: Server, socket: string): Promise<void> =>
  new Promise((resolve, reject) =>
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (err) => (err ? reject(err) : resolve())),
  )
