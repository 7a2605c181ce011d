import { message, type Fields, type MessageType } from "../protobuf/message.ts"

/** A procedure of a gRPC service, with the messages that it sends and receives. */
export interface Rpc<Req extends Fields, Res extends Fields> {
  /** The HTTP path: `/package.Service/Method`. */
  readonly path: string
  readonly request: MessageType<Req>
  readonly response: MessageType<Res>
}

export const Empty = message({})

/** Declares the procedures of one service: `rpc("RunPodSandbox", request, response)`. */
export const service =
  (name: string) =>
  <Req extends Fields, Res extends Fields>(
    method: string,
    request: MessageType<Req>,
    response: MessageType<Res>,
  ): Rpc<Req, Res> => ({
    path: `/${name}/${method}`,
    request,
    response,
  })
