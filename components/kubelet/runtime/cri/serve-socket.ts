import { Server, ServerCredentials, status, type sendUnaryData, type ServerUnaryCall } from "@grpc/grpc-js"
import { Buffer } from "node:buffer"
import { chmod, rm } from "node:fs/promises"
import { CriError } from "../../../../pkg/cri/errors.ts"
import { GRPC_CODES } from "../../../../pkg/grpc/codes.ts"
import type { Procedure } from "../../../../pkg/grpc/rpc.ts"
import type { Decoded, Fields, Init } from "../../../../pkg/protobuf/message.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import type { ServedSocket } from "../runtime.ts"

/** The largest request, in bytes: plugins tell little about themselves. */
const LARGEST_REQUEST = 64 * 1024

/** Serves procedures by gRPC on a unix socket that only root can reach. @throws Error when it cannot be made */
export async function serveSocket(path: string, procedures: readonly Procedure[]): Promise<ServedSocket> {
  const server = new Server({ "grpc.max_receive_message_length": LARGEST_REQUEST })
  for (const each of procedures) serve(server, each)
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

function serve(server: Server, { rpc: { path, request, response }, answer }: Procedure): void {
  const method = path.slice(path.lastIndexOf("/") + 1)
  server.addService(
    {
      [method]: {
        path,
        requestStream: false,
        responseStream: false,
        requestSerialize: (value: Init<Fields>) => Buffer.from(request.encode(value)),
        requestDeserialize: (data: Buffer) => request.decode(data),
        responseSerialize: (value: Init<Fields>) => Buffer.from(response.encode(value)),
        responseDeserialize: (data: Buffer) => response.decode(data),
      },
    },
    {
      [method]: (call: ServerUnaryCall<Decoded<Fields>, Init<Fields>>, respond: sendUnaryData<Init<Fields>>) => {
        answer(call.request).then(
          (value) => respond(null, value),
          (err: unknown) => respond({ code: codeOf(err), details: errorMessage(err) }),
        )
      },
    },
  )
}

const codeOf = (err: unknown): number => (err instanceof CriError ? GRPC_CODES.indexOf(err.code) : status.UNKNOWN)
