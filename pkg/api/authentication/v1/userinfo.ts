import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"

/** Source: k8s.io/api authentication/v1/types.go. */

export const UserInfo = message("authentication.v1.UserInfo", "The attributes of an authenticated user.", {
  username: f.string(1, "Name of the user."),
  uid: f.string(2, "Uid of the user."),
  groups: f.list(3, e.string, "Groups the user is in.").atomic(),
  extra: f.map(4, e.listOf(e.string), "More that the authenticator knows."),
})
export interface UserInfo extends ObjectOf<typeof UserInfo> {}
