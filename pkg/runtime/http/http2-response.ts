import { Http2ServerResponse } from "node:http2"

/**
 * A response over HTTP/2 that says when its client has gone, as those over HTTP/1.1 and all other streams do: the
 * platform's own has no `destroyed`, and writing to it then neither fails nor is ever followed by `drain`.
 */
export class Http2Response extends Http2ServerResponse {
  // @ts-expect-error The types say that the platform has it, as a property.
  override get destroyed(): boolean {
    return this.stream === undefined || this.stream.destroyed
  }
}
