import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { Stored } from "../../../pkg/storage/storage.ts"

const encoder = new TextEncoder()

/** What a dry run answers, or an update that lets its object go: an object that looks stored but is not. */
export const unstored = (key: string, object: KubeObject): Stored => ({
  key,
  object,
  revision: 0,
  created: 0,
  time: 0,
  get json() {
    return encoder.encode(JSON.stringify(object))
  },
})
