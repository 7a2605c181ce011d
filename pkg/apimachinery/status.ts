import { f, message } from "./fields.ts"
import { ListMeta } from "./meta.ts"

/**
 * metav1.Status as a message, for protobuf and OpenAPI; the type that code works with is in errors.ts. Source:
 * apimachinery pkg/apis/meta/v1/types.go.
 */
const meta = "io.k8s.apimachinery.pkg.apis.meta.v1"

export const StatusCause = message(`${meta}.StatusCause`, "One reason why a request failed.", {
  reason: f.string(1, "The reason in a word for machines."),
  message: f.string(2, "The reason in words, for people."),
  field: f.string(3, "Path of the field that caused it, for instance `items[0].name`."),
})

export const StatusDetails = message(
  `${meta}.StatusDetails`,
  "More about a Status; which fields are set depends on its reason.",
  {
    name: f.string(1, "Name of the object concerned."),
    group: f.string(2, "Group of the object concerned."),
    kind: f.string(3, "Kind, or plural name, of the object concerned."),
    uid: f.string(6, "UID of the object concerned."),
    causes: f.list(4, StatusCause, "Every reason why the request failed.").atomic(),
    retryAfterSeconds: f.int32(5, "Seconds after which the request may be tried again."),
  },
)

export const StatusMessage = message(`${meta}.Status`, "The answer to a request that gives no object.", {
  metadata: f.message(1, ListMeta, "Standard list metadata."),
  status: f.string(2, "Success or Failure."),
  message: f.string(3, "What happened, for people."),
  reason: f.string(4, "What happened, in a word for machines."),
  details: f.message(5, StatusDetails, "More about it."),
  code: f.int32(6, "HTTP code of the answer."),
})
