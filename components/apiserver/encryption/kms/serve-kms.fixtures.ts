import { Server, ServerCredentials, type ServiceDefinition, type UntypedServiceImplementation } from "@grpc/grpc-js"
import { Buffer } from "node:buffer"
import { KMS_SERVICE, type FakeKms } from "./fake-kms.fixtures.ts"

/** Serves a KMS by gRPC on a unix socket. While `kms.isSilent` holds, no call is answered. */
export async function serveKms(kms: FakeKms & { isSilent?: boolean }, socket: string): Promise<Server> {
  const server = new Server()
  const definition: Record<string, ServiceDefinition[string]> = {}
  const handlers: UntypedServiceImplementation = {}
  for (const rpc of KMS_SERVICE) {
    const method = rpc.path.slice(rpc.path.lastIndexOf("/") + 1)
    definition[method] = {
      path: rpc.path,
      requestStream: false,
      responseStream: false,
      requestSerialize: () => Buffer.alloc(0),
      requestDeserialize: (data) => rpc.request.decode(data),
      responseSerialize: (value: object) => Buffer.from(rpc.response.encode(value)),
      responseDeserialize: () => undefined,
    }
    handlers[method] = (call: { request: object }, answer: (err: Error | null, value?: object) => void): void => {
      if (kms.isSilent !== true) answer(null, kms.answer(rpc.path, call.request))
    }
  }
  server.addService(definition, handlers)
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (err) => (err ? reject(err) : resolve())),
  )
  return server
}
