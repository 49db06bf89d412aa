# Redmine's config.ru, for one request at a time.
require '/usr/share/redmine/config/environment'
use Rack::Lock
run Rails.application
