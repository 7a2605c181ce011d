/** Replies of conversion webhooks: good ones, and those that the API server refuses. */
import type { ConversionReview } from "../../webhooks/review.ts"

export const GROUP = "conversion.example.com"

export type Loose = Record<string, unknown>
export interface CustomObject extends Loose {
  readonly metadata: Loose
  readonly spec?: Loose
}
export type Reply = (review: ConversionReview) => unknown

/** A review answered with each object in the version that is wanted, after a change. */
export const converted = (
  { apiVersion, request: { uid, objects, desiredAPIVersion } }: ConversionReview,
  change: (object: CustomObject) => unknown = (object) => object,
) => ({
  apiVersion,
  kind: "ConversionReview",
  response: {
    uid,
    result: { status: "Success" },
    convertedObjects: objects.map((object) =>
      change({ ...(object as unknown as CustomObject), apiVersion: desiredAPIVersion }),
    ),
  },
})
/** Notes in spec.via through which versions an object went. */
export const tracing: Reply = (review) =>
  converted(review, ({ spec, ...object }) => ({
    ...object,
    spec: { ...spec, via: [...((spec?.["via"] ?? []) as string[]), review.request.desiredAPIVersion.split("/")[1]] },
  }))
export const withMetadata = (review: ConversionReview, more: Loose) =>
  converted(review, (object) => ({ ...object, metadata: { ...object.metadata, ...more } }))
export const withResponse = (review: ConversionReview, more: Loose) => {
  const answer = converted(review)
  return { ...answer, response: { ...answer.response, ...more } }
}

/** The words were told by Kubernetes 1.36.2. */
export const FAILURES: readonly { title: string; given: Reply; wants: string }[] = [
  {
    title: "fails with a message",
    given: (review) => withResponse(review, { result: { status: "Failed", message: "no way" } }),
    wants: "failed: no way",
  },
  {
    title: "fails without a message",
    given: (review) => withResponse(review, { result: { status: "Failed" } }),
    wants: "failed: response.result.status was 'Failed', not 'Success'",
  },
  {
    title: "gives no result",
    given: (review) => withResponse(review, { result: undefined }),
    wants: "failed: response.result.status was '', not 'Success'",
  },
  {
    title: "gives no response",
    given: (review) => ({ ...converted(review), response: undefined }),
    wants: "failed: no response provided",
  },
  {
    title: "answers another review",
    given: (review) => withResponse(review, { uid: "x" }),
    wants: 'failed: expected response.uid="UID", got "x"',
  },
  {
    title: "answers with another kind",
    given: (review) => ({ ...converted(review), kind: "Other" }),
    wants:
      'failed: no kind "Other" is registered for version "apiextensions.k8s.io/v1" in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71"',
  },
  {
    title: "answers in another version",
    given: (review) => ({ ...converted(review), apiVersion: "apiextensions.k8s.io/v1beta1" }),
    wants: "failed: converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion",
  },
  {
    title: "answers without a kind",
    given: (review) => ({ response: converted(review).response }),
    wants: "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=",
  },
  {
    title: "gives no objects",
    given: (review) => withResponse(review, { convertedObjects: [] }),
    wants: "returned 0 objects, expected 1",
  },
  {
    title: "returns one object too many",
    given: (review) => withResponse(review, { convertedObjects: [{}, {}] }),
    wants: "returned 2 objects, expected 1",
  },
  {
    title: "gives another version",
    given: (review) => converted(review, (object) => ({ ...object, apiVersion: `${GROUP}/v1` })),
    wants: `returned invalid object at index 0: invalid groupVersion (expected ${GROUP}/v2, received ${GROUP}/v1)`,
  },
  {
    title: "gives another kind",
    given: (review) => converted(review, (object) => ({ ...object, kind: "Bar" })),
    wants: "returned invalid object at index 0: invalid kind (expected Foo, received Bar)",
  },
  {
    title: "changes the name",
    given: (review) => withMetadata(review, { name: "zz" }),
    wants: "returned invalid object: must have the same name: a != zz",
  },
  {
    title: "changes the namespace",
    given: (review) => withMetadata(review, { namespace: "zz" }),
    wants: "returned invalid object: must have the same namespace: default != zz",
  },
  {
    title: "changes the uid",
    given: (review) => withMetadata(review, { uid: "zz" }),
    wants: "returned invalid object: must have the same UID: UID != zz",
  },
  {
    title: "leaves the metadata out",
    given: (review) => converted(review, (object) => ({ ...object, metadata: undefined })),
    wants: "returned invalid object: must have the same name: a != ",
  },
  {
    title: "gives labels that are text",
    given: (review) => withMetadata(review, { labels: "x" }),
    wants: "returned invalid metadata: invalid metadata.labels of type string in converted object",
  },
  {
    title: "gives a label that is a number",
    given: (review) => withMetadata(review, { labels: { a: 1 } }),
    wants: "returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object",
  },
  {
    title: "gives an annotation that is no string",
    given: (review) => withMetadata(review, { annotations: { "a b": "" } }),
    wants:
      'returned invalid metadata: metadata.annotation: Invalid value: "a b": name part must consist of alphanumeric ' +
      "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or " +
      "'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  },
]
