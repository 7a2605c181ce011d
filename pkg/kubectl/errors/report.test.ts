import { describe, expect, test } from "bun:test"
import { Aggregate } from "./aggregate.ts"
import { ConfigurationInvalid, ContextNotFound, NoResourceMatchError, SilentExit, UrlError } from "./errors.ts"
import { reportOf } from "./report.ts"
import { StatusError } from "./status-error.ts"

const notFound = (name: string) =>
  new StatusError({ reason: "NotFound", code: 404, message: `pods "${name}" not found` })

/** Words of upstream's kubectl 1.36.2. */
describe("reportOf", () => {
  test.each<{ what: string; err: unknown; text: string }>([
    { what: "any error", err: new Error("x"), text: "error: x" },
    { what: "an error that says so already", err: new Error("error: x"), text: "error: x" },
    { what: "a Status", err: notFound("a"), text: 'Error from server (NotFound): pods "a" not found' },
    {
      what: "several Statuses",
      err: new Aggregate([notFound("a"), notFound("b")]),
      text: 'Error from server (NotFound): pods "a" not found\nError from server (NotFound): pods "b" not found\n',
    },
    { what: "one error in an aggregate", err: new Aggregate([new Error("x")]), text: "error: x" },
    {
      what: "a user who is not known",
      err: new StatusError({ reason: "Unauthorized", code: 401, message: "Unauthorized" }),
      text: "error: You must be logged in to the server (Unauthorized)",
    },
    {
      what: "an invalid object",
      err: new StatusError({
        reason: "Invalid",
        message: "…",
        details: {
          kind: "Pod",
          name: "a",
          causes: [
            { field: "spec.x", message: "Required value" },
            { field: "spec.y", message: "Too long" },
          ],
        },
      }),
      text: 'The Pod "a" is invalid: \n* spec.x: Required value\n* spec.y: Too long\n',
    },
    {
      what: "a server that does not listen",
      err: new UrlError("Get", "https://a:6443/api", new Error("dial tcp 1.2.3.4:6443: connect: connection refused")),
      text: "The connection to the server a:6443 was refused - did you specify the right host or port?",
    },
    {
      what: "a server that does not listen on a usual port",
      err: new UrlError("Get", "https://a:443/api", new Error("dial tcp 1.2.3.4:443: connect: connection refused")),
      text: "The connection to the server a:443 was refused - did you specify the right host or port?",
    },
    {
      what: "a server that is not found",
      err: new UrlError("Get", "https://a/api", new Error("dial tcp: lookup a: no such host")),
      text: "Unable to connect to the server: dial tcp: lookup a: no such host",
    },
    {
      what: "a resource of a group",
      err: new NoResourceMatchError({ group: "g", version: "", resource: "r" }),
      text: `the server doesn't have a resource type "r" in group "g"`,
    },
    {
      what: "several faults of a kubeconfig",
      err: new ConfigurationInvalid([new Error("x"), new Error("y")]),
      text: "Error in configuration: \n* x\n* y\n",
    },
    {
      what: "a context that is not there",
      err: new ConfigurationInvalid([new ContextNotFound("c")]),
      text: "Error in configuration: context was not found for specified context: c\n",
    },
    { what: "nothing where all has been said", err: new SilentExit(), text: "" },
  ])("says $what", ({ err, text }) => {
    expect(reportOf(err)).toEqual({ text, code: 1 })
  })
})
