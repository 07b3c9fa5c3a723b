# Walks through accounts, users, teams, documents and files with Appwrite's SDK for Python.
import os
import sys

from appwrite.client import Client
from appwrite.exception import AppwriteException
from appwrite.id import ID
from appwrite.input_file import InputFile
from appwrite.permission import Permission
from appwrite.query import Query
from appwrite.role import Role
from appwrite.services.account import Account
from appwrite.services.databases import Databases
from appwrite.services.storage import Storage
from appwrite.services.tables_db import TablesDB
from appwrite.services.teams import Teams
from appwrite.services.users import Users

endpoint, project, key = sys.argv[1], sys.argv[2], os.environ["WORLD_KEY"]


def client():
    return Client().set_endpoint(endpoint).set_project(project)


def member(answer, name):
    """The SDK answers models; their members have no $ in front."""
    found = answer if isinstance(answer, dict) else answer.model_dump(by_alias=True)
    return found[name]


def refused(status, error, call):
    try:
        call()
    except AppwriteException as found:
        assert (found.code, found.type) == (status, error), (found.code, found.type, found.message)
        return
    raise AssertionError(f"{error} was expected")


server = client().set_key(key)
users, teams, storage = Users(server), Teams(server), Storage(server)
databases, tables = Databases(server), TablesDB(server)

user = users.create("py-ada", email="py-ada@example.com", password="tall-bicycle", name="Ada")
assert member(user, "$id") == "py-ada"
users.update_labels("py-ada", ["gold"])
users.update_prefs("py-ada", {"theme": "dark"})
assert member(users.list([Query.equal("name", "Ada")]), "total") == 1
assert member(users.list(search="py-ada", total=False), "total") == 0
refused(409, "user_already_exists", lambda: users.create("py-ada", email="x@example.com", password="tall-bicycle"))

session = Account(server).create_email_password_session("py-ada@example.com", "tall-bicycle")
ada = client().set_session(member(session, "secret"))
account = Account(ada)
assert member(account.get(), "email") == "py-ada@example.com"
account.update_name("Ada L")
account.update_prefs({})
assert member(account.list_sessions(), "total") >= 1
refused(401, "user_invalid_credentials", lambda: Account(client()).create_email_password_session("py-ada@example.com", "wrong-password"))

teams.create("py-crew", "Crew", ["owner"])
membership = teams.create_membership("py-crew", ["owner"], user_id="py-ada")
assert member(teams.list_memberships("py-crew"), "total") == 1
teams.update_prefs("py-crew", {"a": 1})
teams.update_membership("py-crew", member(membership, "$id"), ["owner", "cook"])

databases.create("py", "Python")
access = [Permission.read(Role.any()), Permission.create(Role.users())]
databases.create_collection("py", "posts", "Posts", permissions=access, document_security=True)
databases.create_string_attribute("py", "posts", "title", 100, True)
databases.create_integer_attribute("py", "posts", "rank", False, min=0, max=100, default=0)
databases.create_datetime_attribute("py", "posts", "at", False)
databases.create_index("py", "posts", "by_rank", "key", ["rank"])
for rank in range(3):
    databases.create_document("py", "posts", f"p{rank}", {"title": f"Post {rank}", "rank": rank})
databases.upsert_document("py", "posts", "p9", {"title": "Nine", "rank": 9})
databases.increment_document_attribute("py", "posts", "p9", "rank", 2)
found = databases.list_documents("py", "posts", [Query.greater_than("rank", 0), Query.order_desc("rank"), Query.limit(2)])
assert member(found, "total") == 3
own = Databases(ada).create_document("py", "posts", ID.unique(), {"title": "Mine", "at": "2030-01-31T12:00:00.000+00:00"})
refused(401, "user_unauthorized", lambda: Databases(ada).update_document("py", "posts", "p0", {"title": "Stolen"}))
Databases(ada).delete_document("py", "posts", member(own, "$id"))
refused(404, "document_not_found", lambda: databases.get_document("py", "posts", "none"))
assert member(tables.list_rows("py", "posts", [Query.limit(1)]), "total") == 4
tables.delete_row("py", "posts", "p9")

storage.create_bucket("py", "Files", permissions=[Permission.read(Role.any())])
content = os.urandom(12_000_000)
uploaded = storage.create_file("py", ID.unique(), InputFile.from_bytes(content, "large.bin", "application/octet-stream"))
assert member(uploaded, "sizeOriginal") == len(content)
assert bytes(storage.get_file_download("py", member(uploaded, "$id"))) == content
storage.delete_file("py", member(uploaded, "$id"))

users.delete("py-ada")
refused(401, "general_unauthorized_scope", account.get)
print("done")
