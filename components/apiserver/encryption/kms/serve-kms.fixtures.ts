import type { Server } from "@grpc/grpc-js"
import { serveRpcs } from "../../../../pkg/grpc/serve-rpcs.fixtures.ts"
import { KMS_SERVICE, type FakeKms } from "./fake-kms.fixtures.ts"

/** Serves a KMS by gRPC on a unix socket. While `kms.isSilent` holds, no call is answered. */
export const serveKms = (kms: FakeKms & { isSilent?: boolean }, socket: string): Promise<Server> =>
  serveRpcs(socket, KMS_SERVICE, ({ path }, _method, request) =>
    kms.isSilent === true ? undefined : kms.answer(path, request),
  )
