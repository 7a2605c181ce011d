import { Server, ServerCredentials, status, type sendUnaryData, type ServerUnaryCall } from "@grpc/grpc-js"
import { Buffer } from "node:buffer"
import { chmod, rm } from "node:fs/promises"
import type { Rpc } from "../../../../pkg/grpc/rpc.ts"
import type { Decoded, Fields, Init } from "../../../../pkg/protobuf/message.ts"
import type { ServedSocket } from "../runtime.ts"

/** The largest request, in bytes: plugins tell little about themselves. */
const LARGEST_REQUEST = 64 * 1024

/** Serves one procedure by gRPC on a unix socket that only root can reach. @throws Error when it cannot be made */
export async function serveSocket<Req extends Fields, Res extends Fields>(
  path: string,
  { path: procedure, request, response }: Rpc<Req, Res>,
  answer: (request: Decoded<Req>) => Promise<Init<Res>>,
): Promise<ServedSocket> {
  const server = new Server({ "grpc.max_receive_message_length": LARGEST_REQUEST })
  const method = procedure.slice(procedure.lastIndexOf("/") + 1)
  server.addService(
    {
      [method]: {
        path: procedure,
        requestStream: false,
        responseStream: false,
        requestSerialize: (value: Init<Req>) => Buffer.from(request.encode(value)),
        requestDeserialize: (data: Buffer) => request.decode(data),
        responseSerialize: (value: Init<Res>) => Buffer.from(response.encode(value)),
        responseDeserialize: (data: Buffer) => response.decode(data),
      },
    },
    {
      [method]: (call: ServerUnaryCall<Decoded<Req>, Init<Res>>, respond: sendUnaryData<Init<Res>>) => {
        answer(call.request).then(
          (value) => respond(null, value),
          (err: unknown) =>
            respond({ code: status.UNKNOWN, details: err instanceof Error ? err.message : String(err) }),
        )
      },
    },
  )
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix://${path}`, ServerCredentials.createInsecure(), (err) => (err ? reject(err) : resolve())),
  )
  await chmod(path, 0o600)
  return {
    async close() {
      server.forceShutdown()
      await rm(path, { force: true })
    },
  }
}
