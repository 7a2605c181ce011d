import { message, type Decoded, type Fields, type Init, type MessageType } from "../protobuf/message.ts"

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

/** A procedure that is served here, and what answers it. */
export interface Procedure {
  readonly rpc: Rpc<Fields, Fields>
  readonly answer: (request: Decoded<Fields>) => Promise<Init<Fields>>
}

/** Joins a procedure and its answer, whose types belong together. */
export const procedure = <Req extends Fields, Res extends Fields>(
  rpc: Rpc<Req, Res>,
  answer: (request: Decoded<Req>) => Promise<Init<Res>>,
): Procedure => ({ rpc, answer }) as unknown as Procedure
